//! Any text is read as manifests, or refused with a reason; it never ends the program.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match slipway_manifests::read(text) {
        Ok(documents) => {
            for document in documents {
                let _ = document.value.to_string();
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
