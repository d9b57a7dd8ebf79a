//! Pages are seen as a person sees them.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::response::Html;
use axum::routing::get;
use serde_json::json;
use slipway_testkit::browser::Browser;
use slipway_testkit::scratch;

const DEADLINE: Duration = Duration::from_secs(10);

const PAGE: &str = r#"<!doctype html>
<html lang="en"><head><title>Greeter</title><link rel="icon" href="data:,">
<style>
  body { background: #ffffff; color: #102030; font: 20px sans-serif; margin: 2rem; }
  @media (prefers-color-scheme: dark) { body { background: #101418; color: #f0f0f0; } }
</style></head>
<body>
  <h1>Welcome</h1>
  <form><input id="name" value="somebody"><button type="button" id="greet">Greet</button></form>
  <p id="greeting" data-kind="none"></p>
  <button type="button" id="fail">Fail</button>
  <script>
    const element = (id) => document.getElementById(id);
    element("greet").addEventListener("click", () => requestAnimationFrame(() => {
      element("greeting").textContent = "Hello, " + element("name").value;
      element("greeting").className = "done";
    }));
    element("fail").addEventListener("click", () => { throw new Error("the pump is broken"); });
  </script>
</body></html>"#;

async fn serve() -> Result<SocketAddr> {
    slipway_testkit::init();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    // Ends with the test's runtime.
    tokio::spawn(async {
        axum::serve(listener, Router::new().route("/", get(|| async { Html(PAGE) }))).await
    });
    Ok(address)
}

/// Width, height, and how many colours a picture has.
fn look(picture: &[u8]) -> Result<(u32, u32, usize)> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(picture)).read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().context("the picture is too large")?];
    let info = reader.next_frame(&mut pixels)?;
    let colours: std::collections::HashSet<_> = pixels.chunks(info.color_type.samples()).collect();
    Ok((info.width, info.height, colours.len()))
}

#[tokio::test]
async fn a_page_renders_and_reacts() -> Result<()> {
    let address = serve().await?;
    let browser = Browser::start().await?;
    browser.go(&format!("http://{address}/")).await?;
    assert_eq!(browser.title().await?, "Greeter");
    assert_eq!(browser.text("h1").await?, "Welcome");
    assert!(!browser.exists("#greeting.done").await?);

    browser.type_into("#name", "Ada").await?;
    browser.click("#greet").await?;
    browser.wait_for("#greeting.done", DEADLINE).await?;
    browser.wait_for_text("#greeting", "Ada", DEADLINE).await?;
    assert_eq!(browser.text("#greeting").await?, "Hello, Ada", "what was there before is replaced");
    assert_eq!(browser.texts("button").await?, ["Greet", "Fail"]);
    assert_eq!(browser.attribute("#greeting", "data-kind").await?.as_deref(), Some("none"));
    assert_eq!(browser.attribute("#greeting", "data-other").await?, None);
    assert!(browser.html().await?.contains("class=\"done\""));
    assert_eq!(browser.evaluate("return [1 + 1, document.title]").await?, json!([2, "Greeter"]));

    let error = browser.wait_for("#nothing", Duration::from_millis(100)).await.expect_err("it is not there");
    assert!(format!("{error:#}").contains("which shows: Welcome"), "{error:#}");
    browser.close().await;
    Ok(())
}

#[tokio::test]
async fn a_picture_shows_the_page_in_its_size_and_colours() -> Result<()> {
    let address = serve().await?;
    let browser = Browser::start().await?;
    let folder = scratch("pictures")?;
    browser.resize(390, 844).await?;
    assert_eq!(look(&browser.picture().await?)?, (390, 844, 1), "an empty page is blank");

    browser.go(&format!("http://{address}/")).await?;
    let file = folder.path().join("page.png");
    browser.screenshot(&file).await?;
    let (width, height, colours) = look(&std::fs::read(&file)?)?;
    assert_eq!((width, height), (390, 844));
    assert!(colours > 10, "a page with text has more than {colours} colours");

    let background = "return getComputedStyle(document.body).backgroundColor";
    assert_eq!(browser.evaluate(background).await?, "rgb(255, 255, 255)");
    browser.dark_mode(true).await?;
    assert_eq!(browser.evaluate(background).await?, "rgb(16, 20, 24)");
    browser.dark_mode(false).await?;
    assert_eq!(browser.evaluate(background).await?, "rgb(255, 255, 255)");
    Ok(())
}

#[tokio::test]
async fn an_error_on_the_console_is_reported() -> Result<()> {
    let address = serve().await?;
    let browser = Browser::start().await?;
    browser.go(&format!("http://{address}/")).await?;
    browser.evaluate("console.log('only a remark')").await?;
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    browser.click("#fail").await?;
    let errors = browser.console_errors().await?;
    assert!(matches!(&errors[..], [error] if error.contains("the pump is broken")), "{errors:?}");
    assert_eq!(browser.console_errors().await?, errors, "what was reported stays");
    Ok(())
}
