//! Candidates on a simulated API server that is slow, loses answers and forgets watchers, in processes
//! that freeze: no two of them ever lead at the same moment.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

/// The simulation advances by this, and every delay is a multiple of it.
const TICK: Duration = Duration::from_millis(50);
const TICKS: u32 = 2400;
const TIMING: Timing = Timing {
    lease_duration: Duration::from_secs(6),
    renew_deadline: Duration::from_secs(4),
    retry_period: Duration::from_secs(1),
};
const GROUPS: [&str; 3] = ["blue", "green", "blue"];

/// What goes wrong, read again and again from the beginning.
#[derive(Debug, Clone)]
struct Fate {
    numbers: Vec<u16>,
    next: usize,
}

impl Fate {
    fn draw(&mut self, below: u32) -> u32 {
        let number = self.numbers[self.next % self.numbers.len()];
        // Rounds differ, or a short list would repeat one pattern for ever.
        let round = self.next / self.numbers.len();
        self.next += 1;
        (u32::from(number).wrapping_add(u32::try_from(round * 7919).unwrap_or(0))) % below
    }

    fn one_in(&mut self, many: u32) -> bool {
        self.draw(many) == 0
    }

    /// Mostly quick, sometimes longer than any timeout.
    fn delay(&mut self) -> u32 {
        if self.one_in(12) { self.draw(160) } else { self.draw(4) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A request arrives at the API server.
    Arrives { who: usize, request: u64, wanted: Wanted },
    /// Its answer arrives.
    Answered { who: usize, request: u64 },
    /// A candidate stops waiting for an answer.
    TimesOut { who: usize, request: u64 },
    /// The watch tells a candidate what the Lease was.
    Watched { who: usize, version: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    Read,
    /// With the version that it was decided on; none to create.
    Claim(Option<usize>),
    Release(Option<usize>),
}

#[derive(Debug)]
enum Answer {
    Is(Option<usize>),
    Wrote(usize),
    Changed,
}

struct Process {
    candidacy: Candidacy,
    identity: String,
    known: Option<usize>,
    request: Option<(u64, Wanted, Instant)>,
    answer: Option<Answer>,
    frozen_until: u32,
    inbox: Vec<Event>,
    yielding_until: Option<u32>,
}

struct World {
    zero: Instant,
    tick: u32,
    fate: Fate,
    /// All versions of the Lease, none for deleted.
    history: Vec<Option<Record>>,
    processes: Vec<Process>,
    events: BinaryHeap<Reverse<(u32, Event)>>,
    requests: u64,
    terms_led: u64,
}

impl World {
    fn new(fate: Fate, count: usize) -> Self {
        let processes = (0..count)
            .map(|number| {
                let identity = format!("candidate-{number}");
                let candidate = Candidate {
                    identity: identity.clone(),
                    group: Some(GROUPS[number].into()),
                    standby: number == 1,
                };
                Process {
                    candidacy: Candidacy::new(candidate, TIMING, TICK * u32::try_from(number).unwrap()),
                    identity,
                    known: None,
                    request: None,
                    answer: None,
                    frozen_until: 0,
                    inbox: Vec::new(),
                    yielding_until: None,
                }
            })
            .collect();
        let preferred = Record { preferred_group: Some("blue".into()), ..Record::default() };
        Self {
            zero: Instant::now(),
            tick: 0,
            fate,
            history: vec![Some(preferred)],
            processes,
            events: BinaryHeap::new(),
            requests: 0,
            terms_led: 0,
        }
    }

    fn now(&self) -> Instant {
        self.zero + TICK * self.tick
    }

    fn after(&mut self, ticks: u32, event: Event) {
        self.events.push(Reverse((self.tick + ticks.max(1), event)));
    }

    fn commit(&mut self, record: Option<Record>) -> usize {
        self.history.push(record);
        let version = self.history.len() - 1;
        for who in 0..self.processes.len() {
            if !self.fate.one_in(6) {
                let delay = self.fate.delay();
                self.after(delay, Event::Watched { who, version });
            }
        }
        version
    }

    fn happen(&mut self) {
        while let Some(Reverse((tick, _))) = self.events.peek()
            && *tick <= self.tick
        {
            let Some(Reverse((_, event))) = self.events.pop() else { return };
            match event {
                Event::Arrives { who, request, wanted } => self.serve(who, request, wanted),
                Event::Answered { who, .. } | Event::TimesOut { who, .. } | Event::Watched { who, .. } => {
                    self.processes[who].inbox.push(event);
                }
            }
        }
    }

    fn serve(&mut self, who: usize, request: u64, wanted: Wanted) {
        let newest = self.history.len() - 1;
        let current = self.history[newest].as_ref().map(|_| newest);
        let stamp = Timestamp::from_millisecond(i64::from(self.tick) * 50).unwrap();
        let base = self.history[newest].clone().unwrap_or_default();
        let answer = match wanted {
            Wanted::Read => Answer::Is(current),
            Wanted::Claim(version) | Wanted::Release(version) if version != current => Answer::Changed,
            Wanted::Claim(_) => Answer::Wrote(self.commit(Some(Record {
                holder: Some(self.processes[who].identity.clone()),
                lasts: Some(TIMING.lease_duration),
                renewed: Some(stamp),
                ..base
            }))),
            Wanted::Release(_) => Answer::Wrote(self.commit(Some(Record {
                holder: None,
                lasts: Some(Duration::from_secs(1)),
                renewed: Some(stamp),
                ..base
            }))),
        };
        let process = &mut self.processes[who];
        if process.request.is_some_and(|(current, ..)| current == request) {
            process.answer = Some(answer);
            if !self.fate.one_in(10) {
                let delay = self.fate.delay();
                self.after(delay, Event::Answered { who, request });
            }
        }
    }

    fn receive(&mut self, who: usize) {
        let now = self.now();
        for event in std::mem::take(&mut self.processes[who].inbox) {
            let process = &mut self.processes[who];
            match event {
                Event::Watched { version, .. } => {
                    if process.known.is_none_or(|known| version >= known) {
                        match &self.history[version] {
                            Some(record) => {
                                process.known = Some(version);
                                process.candidacy.saw(now, Some(record.clone()), Source::Watch);
                            }
                            None => process.candidacy.doubt(),
                        }
                    }
                }
                Event::TimesOut { request, .. } => {
                    if process.request.take_if(|(current, ..)| *current == request).is_some() {
                        process.candidacy.failed(now);
                        process.candidacy.doubt();
                    }
                }
                Event::Answered { request, .. } => {
                    let Some((_, wanted, started)) = process.request.take_if(|(id, ..)| *id == request)
                    else {
                        continue;
                    };
                    process.candidacy.answered();
                    match process.answer.take() {
                        Some(Answer::Wrote(version)) => {
                            let record = self.history[version].clone().unwrap();
                            process.known = Some(version);
                            if matches!(wanted, Wanted::Claim(_)) {
                                let begins = process.candidacy.claimed(started, now, record);
                                self.terms_led += u64::from(begins);
                            } else {
                                process.candidacy.saw(now, Some(record), Source::Request);
                            }
                        }
                        Some(Answer::Is(version)) => {
                            process.known = version;
                            let record = version.and_then(|version| self.history[version].clone());
                            process.candidacy.saw(now, record, Source::Request);
                        }
                        Some(Answer::Changed) | None => process.candidacy.doubt(),
                    }
                }
                Event::Arrives { .. } => {}
            }
        }
    }

    fn act(&mut self, who: usize) {
        let now = self.now();
        let process = &mut self.processes[who];
        if process.request.is_some() {
            return;
        }
        if let Some(until) = process.yielding_until {
            if self.tick >= until {
                process.yielding_until = None;
                process.candidacy.stepped_down();
            }
            return;
        }
        let wanted = match process.candidacy.next(now) {
            Step::Wait(_) => return,
            Step::Lose => return process.candidacy.stepped_down(),
            Step::Yield => {
                process.yielding_until = Some(self.tick + self.fate.draw(20));
                return;
            }
            Step::Look => Wanted::Read,
            Step::Claim => Wanted::Claim(process.known),
            Step::Release => Wanted::Release(process.known),
        };
        self.requests += 1;
        let request = self.requests;
        process.request = Some((request, wanted, now));
        let timeout = process.candidacy.request_timeout(now);
        let timeout = u32::try_from(timeout.as_millis() / TICK.as_millis()).unwrap();
        self.after(timeout, Event::TimesOut { who, request });
        let delay = self.fate.delay();
        // Frozen in between, a process may send long after it decided to.
        self.after(delay, Event::Arrives { who, request, wanted });
    }

    fn disturb(&mut self) {
        for who in 0..self.processes.len() {
            if self.fate.one_in(400) {
                self.processes[who].frozen_until = self.tick + self.fate.draw(240);
            }
        }
        let newest = self.history.last().cloned().flatten();
        if self.fate.one_in(600) && self.processes.iter().all(|process| process.candidacy.record().is_some())
        {
            self.commit(None);
        } else if self.fate.one_in(300)
            && let Some(record) = newest
        {
            let group = ["blue", "green"][self.fate.draw(2) as usize];
            self.commit(Some(Record { preferred_group: Some(group.into()), ..record }));
        }
    }

    /// Who leads by its own clock, whether or not it runs.
    fn leaders(&self) -> Vec<usize> {
        let leads = |process: &Process| process.candidacy.deadline().is_some_and(|end| self.now() < end);
        (0..self.processes.len()).filter(|who| leads(&self.processes[*who])).collect()
    }

    fn run(mut self) -> Result<u64, TestCaseError> {
        while self.tick < TICKS {
            self.tick += 1;
            self.disturb();
            self.happen();
            for who in 0..self.processes.len() {
                if self.tick >= self.processes[who].frozen_until {
                    self.receive(who);
                    self.act(who);
                }
            }
            let leaders = self.leaders();
            prop_assert!(leaders.len() <= 1, "{leaders:?} lead at tick {}", self.tick);
        }
        Ok(self.terms_led)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn no_two_candidates_ever_lead_at_the_same_moment(
        numbers in prop::collection::vec(any::<u16>(), 50..400),
        count in 2_usize..=3,
    ) {
        World::new(Fate { numbers, next: 0 }, count).run()?;
    }
}

#[test]
fn in_the_simulation_leadership_does_change_hands() {
    let numbers: Vec<u16> = (0_u32..997).map(|number| (number * 40503 % 65521) as u16).collect();
    let terms = World::new(Fate { numbers, next: 0 }, 3).run().unwrap();
    assert!(terms > 5, "only {terms} terms in two minutes of trouble");
}
