//! Strings between lengths that match some patterns and not another.
//!
//! Patterns are run as automata side by side, breadth first, so the first string found is a shortest one,
//! and running out of states proves that there is none. Characters no pattern tells apart are tried once.

use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::{Anchored, util::start};
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::Search;
use crate::node::Span;

/// States looked at before giving up: a few milliseconds.
const MAX_STATES: usize = 20_000;

/// Memory one automaton may take.
const CACHE: usize = 8 << 20;

/// The longest string that is worth building.
const MAX_LENGTH: u64 = 100_000;

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted<'a> {
    /// Patterns that must be found in the string.
    pub(crate) with: Vec<&'a str>,
    /// A pattern that must not be found in it.
    pub(crate) without: Option<&'a str>,
    /// How many characters it may have.
    pub(crate) length: Span,
}

/// A shortest string as wanted.
pub(crate) fn find(wanted: &Wanted<'_>) -> Search<String> {
    if wanted.length.is_empty() {
        return Search::Impossible;
    }
    if wanted.length.min > MAX_LENGTH {
        return Search::Unknown;
    }
    if wanted.with.is_empty() && wanted.without.is_none() {
        return usize::try_from(wanted.length.min)
            .map_or(Search::Unknown, |length| Search::Found("a".repeat(length)));
    }
    let mut machines = Vec::new();
    let mut letters = Letters::default();
    for pattern in wanted.with.iter().copied().chain(wanted.without) {
        let Some(machine) = Machine::new(pattern, &mut letters) else { return Search::Unknown };
        machines.push(machine);
    }
    explore(&mut machines, &letters.representatives(), wanted)
}

/// One character no pattern tells apart from its whole class.
#[derive(Debug, Clone, Copy)]
struct Letter(char);

/// Where patterns begin to tell characters apart.
#[derive(Debug, Default)]
struct Letters {
    cuts: Vec<u32>,
}

impl Letters {
    fn cut(&mut self, range: RangeInclusive<u32>) {
        self.cuts.push(*range.start());
        self.cuts.push(range.end().saturating_add(1));
    }

    fn read(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => {
                for c in String::from_utf8_lossy(&literal.0).chars() {
                    self.cut(u32::from(c)..=u32::from(c));
                }
            }
            HirKind::Class(Class::Unicode(class)) => {
                for range in class.ranges() {
                    self.cut(u32::from(range.start())..=u32::from(range.end()));
                }
            }
            HirKind::Class(Class::Bytes(class)) => {
                for range in class.ranges() {
                    self.cut(u32::from(range.start())..=u32::from(range.end()));
                }
            }
            HirKind::Look(look) => self.read_look(*look),
            HirKind::Repetition(repetition) => self.read(&repetition.sub),
            HirKind::Capture(capture) => self.read(&capture.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => {
                for part in parts {
                    self.read(part);
                }
            }
        }
    }

    fn read_look(&mut self, look: Look) {
        match look {
            Look::Start | Look::End => {}
            Look::StartLF | Look::EndLF | Look::StartCRLF | Look::EndCRLF => {
                self.cut(0x0A..=0x0A);
                self.cut(0x0D..=0x0D);
            }
            _ => {
                for range in [b'0'..=b'9', b'A'..=b'Z', b'_'..=b'_', b'a'..=b'z'] {
                    self.cut(u32::from(*range.start())..=u32::from(*range.end()));
                }
            }
        }
    }

    /// One character of every class, the readable ones first.
    fn representatives(mut self) -> Vec<Letter> {
        self.cuts.push(0);
        self.cuts.sort_unstable();
        self.cuts.dedup();
        let ends = self.cuts.iter().skip(1).copied().chain([u32::from(char::MAX) + 1]);
        let mut letters: Vec<char> = self
            .cuts
            .iter()
            .zip(ends)
            .filter_map(|(start, end)| nicest(*start, end.saturating_sub(1)))
            .collect();
        letters.sort_by_key(|c| (rank(*c), *c));
        letters.into_iter().map(Letter).collect()
    }
}

/// The most readable character of a range.
fn nicest(start: u32, end: u32) -> Option<char> {
    let preferred = ['a', '0', 'A', '-', ' ', 'é', '中'];
    let inside = |c: &char| (start..=end).contains(&u32::from(*c));
    preferred.into_iter().find(inside).or_else(|| (start..=end).take(0x900).find_map(char::from_u32))
}

fn rank(c: char) -> u8 {
    match c {
        'a'..='z' => 0,
        '0'..='9' => 1,
        'A'..='Z' => 2,
        ' '..='~' => 3,
        c if c.is_control() => 5,
        _ => 4,
    }
}

/// One pattern, run character by character.
struct Machine {
    dfa: DFA,
    cache: Cache,
}

/// Where a machine stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    /// The pattern was found; nothing that follows changes that.
    Matched,
    /// The pattern can no longer be found.
    Dead,
    /// Still looking.
    Running(LazyStateID),
}

impl Machine {
    fn new(pattern: &str, letters: &mut Letters) -> Option<Machine> {
        let regex = crate::schema::compile_pattern(pattern).ok()?;
        let translated = regex.as_str();
        let hir = regex_syntax::Parser::new().parse(translated).ok()?;
        letters.read(&hir);
        let config = DFA::config().cache_capacity(CACHE).minimum_cache_clear_count(Some(0));
        let dfa = DFA::builder().configure(config).build(translated).ok()?;
        let cache = dfa.create_cache();
        Some(Machine { dfa, cache })
    }

    fn start(&mut self) -> Option<State> {
        let config = start::Config::new().anchored(Anchored::No);
        let id = self.dfa.start_state(&mut self.cache, &config).ok()?;
        Some(classify(id))
    }

    fn next(&mut self, state: State, letter: char) -> Option<State> {
        let mut bytes = [0; 4];
        let mut state = state;
        for byte in letter.encode_utf8(&mut bytes).bytes() {
            let State::Running(id) = state else { return Some(state) };
            state = classify(self.dfa.next_state(&mut self.cache, id, byte).ok()?);
        }
        Some(state)
    }

    /// Whether the string, if it ended here, would match.
    fn matches(&mut self, state: State) -> Option<bool> {
        match state {
            State::Matched => Some(true),
            State::Dead => Some(false),
            State::Running(id) => {
                let last = self.dfa.next_eoi_state(&mut self.cache, id).ok()?;
                Some(last.is_match())
            }
        }
    }
}

fn classify(id: LazyStateID) -> State {
    if id.is_match() {
        State::Matched
    } else if id.is_dead() || id.is_quit() {
        State::Dead
    } else {
        State::Running(id)
    }
}

/// A point of the search: where every machine stands, and how long the string is as far as that matters.
type Point = (Vec<State>, u64);

fn explore(machines: &mut [Machine], letters: &[Letter], wanted: &Wanted<'_>) -> Search<String> {
    let Some(start) = machines.iter_mut().map(Machine::start).collect::<Option<Vec<_>>>() else {
        return Search::Unknown;
    };
    // Beyond the longest length that matters, all lengths are one.
    let horizon = wanted.length.max.map_or(wanted.length.min, |max| max.min(MAX_LENGTH));
    let mut seen: HashMap<Point, (Option<usize>, char)> = HashMap::new();
    let mut order: Vec<Point> = Vec::new();
    let mut queue: VecDeque<(usize, u64)> = VecDeque::new();
    let first: Point = (start, 0);
    seen.insert(first.clone(), (None, ' '));
    order.push(first);
    queue.push_back((0, 0));
    while let Some((index, length)) = queue.pop_front() {
        let Some((states, _)) = order.get(index).cloned() else { return Search::Unknown };
        match accepted(machines, &states, wanted, length) {
            None => return Search::Unknown,
            Some(true) => return Search::Found(spell(&seen, &order, index)),
            Some(false) => {}
        }
        if wanted.length.max.is_some_and(|max| length >= max) || hopeless(&states, wanted) {
            continue;
        }
        for Letter(letter) in letters {
            let mut next = Vec::with_capacity(states.len());
            for (machine, state) in machines.iter_mut().zip(&states) {
                let Some(state) = machine.next(*state, *letter) else { return Search::Unknown };
                next.push(state);
            }
            let point = (next, (length + 1).min(horizon));
            if seen.contains_key(&point) {
                continue;
            }
            if order.len() >= MAX_STATES {
                return Search::Unknown;
            }
            seen.insert(point.clone(), (Some(index), *letter));
            order.push(point);
            queue.push_back((order.len() - 1, length + 1));
        }
    }
    Search::Impossible
}

/// Whether the string so far is one that is wanted.
fn accepted(machines: &mut [Machine], states: &[State], wanted: &Wanted<'_>, length: u64) -> Option<bool> {
    if !wanted.length.contains(length) {
        return Some(false);
    }
    for (index, (machine, state)) in machines.iter_mut().zip(states).enumerate() {
        let must_match = index < wanted.with.len();
        if machine.matches(*state)? != must_match {
            return Some(false);
        }
    }
    Some(true)
}

/// Whether no continuation can be wanted.
fn hopeless(states: &[State], wanted: &Wanted<'_>) -> bool {
    states.iter().enumerate().any(|(index, state)| {
        if index < wanted.with.len() { *state == State::Dead } else { *state == State::Matched }
    })
}

fn spell(seen: &HashMap<Point, (Option<usize>, char)>, order: &[Point], end: usize) -> String {
    let mut letters = Vec::new();
    let mut at = Some(end);
    while let Some((before, letter)) = at.and_then(|index| order.get(index)).and_then(|point| seen.get(point))
    {
        if before.is_some() {
            letters.push(*letter);
        }
        at = *before;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted<'a>(with: &[&'a str], without: Option<&'a str>, min: u64, max: Option<u64>) -> Wanted<'a> {
        Wanted { with: with.to_vec(), without, length: Span { min, max } }
    }

    #[test]
    fn a_shortest_string_is_found() {
        assert_eq!(find(&wanted(&["^[a-z]+-[0-9]{2}$"], None, 0, None)), Search::Found("a-00".into()));
        assert_eq!(find(&wanted(&["b"], None, 3, None)), Search::Found("aab".into()));
        assert_eq!(find(&wanted(&[], None, 3, Some(5))), Search::Found("aaa".into()));
    }

    #[test]
    fn what_the_new_pattern_refuses_is_found() {
        assert_eq!(find(&wanted(&["^[a-z]+$"], Some("^[A-Z]+$"), 0, None)), Search::Found("a".into()));
        assert_eq!(find(&wanted(&[], Some("^[a-z]*$"), 0, None)), Search::Found("0".into()));
        assert_eq!(find(&wanted(&["^a*$"], Some("^a{0,3}$"), 0, None)), Search::Found("aaaa".into()));
    }

    #[test]
    fn a_weaker_pattern_is_proven_weaker() {
        for (old, new) in [
            ("^[a-z]+$", "^[a-zA-Z]+$"),
            ("^[a-z]+$", "[a-z]"),
            ("^(a|b)$", "^[ab]$"),
            (r"^\d+$", "^[0-9]+$"),
            ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "^[a-z0-9-]+$"),
            ("^[^/]+$", "^[^/]*$"),
            ("^a{2,4}$", "^a+$"),
        ] {
            assert_eq!(find(&wanted(&[old], Some(new), 0, None)), Search::Impossible, "{old} in {new}");
        }
    }

    #[test]
    fn lengths_take_part_in_the_proof() {
        assert_eq!(find(&wanted(&["^a*$"], Some("^a{0,5}$"), 0, Some(5))), Search::Impossible);
        assert_eq!(find(&wanted(&["^a{3}$"], None, 4, None)), Search::Impossible);
        assert_eq!(find(&wanted(&["^[a-z]{1,63}$"], None, 64, None)), Search::Impossible);
        assert_eq!(find(&wanted(&[], None, 2, Some(1))), Search::Impossible);
    }

    #[test]
    fn characters_beyond_ascii_are_not_forgotten() {
        assert_eq!(find(&wanted(&["^.$"], Some("^[\\x00-\\x7f]$"), 0, None)), Search::Found("é".into()));
        assert_eq!(find(&wanted(&["^ä$"], None, 0, None)), Search::Found("ä".into()));
    }

    #[test]
    fn what_cannot_be_told_is_not_claimed() {
        assert_eq!(find(&wanted(&["("], None, 0, None)), Search::Unknown);
        assert_eq!(find(&wanted(&[], None, 200_000, None)), Search::Unknown);
    }

    #[test]
    fn word_boundaries_and_lines_are_understood() {
        assert_eq!(find(&wanted(&[r"\bx\b"], None, 3, None)).found().map(|s| s.len()), Some(3));
        assert_eq!(find(&wanted(&["(?m)^b$"], None, 2, None)), Search::Found("b\n".into()));
    }
}
