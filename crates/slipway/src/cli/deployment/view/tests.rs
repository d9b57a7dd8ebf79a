use super::samples::{approval_wait, at, done, planning, quarantined, rollback, soak};
use super::*;

fn look() -> Look {
    Look { glyphs: true, width: 120, tick: 2, followed: true }
}

fn drawn(detail: &DeploymentDetailReply, time: &str) -> String {
    view(detail, at(time), look()).join("\n")
}

#[test]
fn clusters_are_looked_at_first() {
    insta::assert_snapshot!(drawn(&planning(), "12:20:03"));
}

#[test]
fn whoever_has_to_decide_is_named_with_the_command() {
    insta::assert_snapshot!(drawn(&approval_wait(), "12:28:05"));
}

#[test]
fn a_soak_counts_down() {
    insta::assert_snapshot!(drawn(&soak(), "12:28:41"));
}

#[test]
fn a_rollback_says_why() {
    insta::assert_snapshot!(drawn(&rollback(), "12:28:41"));
}

#[test]
fn an_end_says_how_long_it_took() {
    insta::assert_snapshot!(drawn(&done(), "12:43:11"));
}

#[test]
fn an_end_without_some_clusters_names_them_and_the_way_on() {
    insta::assert_snapshot!(drawn(&quarantined(), "13:43:11"));
}

#[test]
fn a_log_has_the_same_words_without_signs() {
    let plain = Look { glyphs: false, width: 200, tick: 0, followed: false };
    insta::assert_snapshot!(view(&soak(), at("12:28:41"), plain).join("\n"));
}

#[test]
fn what_does_not_fit_is_cut() {
    let narrow = Look { width: 40, ..look() };
    assert!(view(&soak(), at("12:28:41"), narrow).iter().all(|line| line::width(line) <= 40));
}
