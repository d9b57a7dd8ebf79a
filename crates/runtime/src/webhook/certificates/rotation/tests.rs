use proptest::prelude::*;

use super::*;

const SCHEDULE: Schedule = Schedule {
    authority: Duration::from_secs(90),
    leaf: Duration::from_secs(20),
    visible_after: Duration::from_secs(10),
    look_every: Duration::from_secs(1),
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn life(from: i64, until: i64) -> Validity {
    Validity { from: at(from), until: at(until) }
}

#[test]
fn the_steps_follow_one_another() {
    let settled = State { current: life(0, 90), next: None, previous: None };
    let publishing = State { next: Some(Next { announced: None }), ..settled };
    let announced = State { next: Some(Next { announced: Some(at(65)) }), ..settled };
    let replaced = State {
        current: life(60, 150),
        next: None,
        previous: Some(Previous { validity: life(0, 200), replaced: at(75) }),
    };
    let ended = State { previous: Some(Previous { validity: life(0, 90), replaced: at(75) }), ..replaced };
    let table = [
        ("young", settled, true, 59, Step::Wait),
        ("two thirds of its life are over", settled, true, 60, Step::Begin),
        ("not yet published", publishing, false, 61, Step::Wait),
        ("published everywhere", publishing, true, 65, Step::Announce),
        ("not yet seen by all", announced, true, 74, Step::Wait),
        ("seen by all", announced, true, 75, Step::Promote),
        ("somebody put the old bundle back", announced, false, 75, Step::Withdraw),
        ("the old one ended before all was well", publishing, false, 90, Step::Promote),
        ("old certificates may still be shown", replaced, true, 104, Step::Wait),
        ("the last old certificate ended", replaced, true, 105, Step::Retire),
        ("the old authority itself ended", ended, true, 90, Step::Retire),
        ("the next one waits for the last one to go", replaced, true, 104, Step::Wait),
    ];
    for (what, state, published, now, expected) in table {
        assert_eq!(step(&state, &SCHEDULE, published, at(now)), expected, "{what}");
    }
}

#[test]
fn a_schedule_that_contradicts_itself_is_refused() {
    assert!(SCHEDULE.check().is_ok());
    assert!(Schedule::default().check().is_ok());
    assert!(Schedule { authority: Duration::from_secs(79), ..SCHEDULE }.check().is_err());
    assert!(Schedule { leaf: Duration::ZERO, ..SCHEDULE }.check().is_err());
}

/// A cluster in small: the Secret, one registration, and replicas that look when chance has it.
struct World {
    now: i64,
    state: State,
    /// Numbers stand for authorities.
    current: u32,
    next: Option<u32>,
    previous: Option<u32>,
    made: u32,
    /// What the registration carried, since when.
    carried: Vec<(i64, Vec<u32>)>,
    /// What each replica shows: signed by whom, until when.
    leaves: Vec<(u32, i64)>,
}

impl World {
    fn new(replicas: usize) -> Self {
        Self {
            now: 0,
            state: State { current: life(0, 90), next: None, previous: None },
            current: 0,
            next: None,
            previous: None,
            made: 0,
            carried: vec![(-100, vec![0])],
            leaves: vec![(0, 20); replicas],
        }
    }

    fn bundle(&self) -> Vec<u32> {
        std::iter::once(self.current).chain(self.next).chain(self.previous).collect()
    }

    fn published(&self) -> bool {
        self.carried.last().is_some_and(|(_, carried)| *carried == self.bundle())
    }

    fn drive(&mut self) {
        let now = at(self.now);
        match step(&self.state, &SCHEDULE, self.published(), now) {
            Step::Wait => {}
            Step::Begin => {
                self.made += 1;
                self.next = Some(self.made);
                self.state.next = Some(Next { announced: None });
            }
            Step::Announce => self.state.next = Some(Next { announced: Some(now) }),
            Step::Withdraw => self.state.next = Some(Next { announced: None }),
            Step::Promote => {
                self.previous = Some(self.current);
                self.state.previous = Some(Previous { validity: self.state.current, replaced: now });
                self.current = self.next.take().unwrap();
                self.state.next = None;
                self.state.current = life(self.now, self.now + 90);
            }
            Step::Retire => {
                self.previous = None;
                self.state.previous = None;
            }
        }
    }

    fn inject(&mut self) {
        if !self.published() {
            self.carried.push((self.now, self.bundle()));
        }
    }

    fn renew(&mut self, replica: usize) {
        let until = (self.now + 20).min(self.state.current.until.as_second());
        self.leaves[replica] = (self.current, until);
    }

    /// What API servers may hold right now: what was carried at some time within the delay.
    fn seen(&self) -> impl Iterator<Item = &Vec<u32>> {
        let delay = i64::try_from(SCHEDULE.visible_after.as_secs()).unwrap();
        self.carried.iter().enumerate().filter_map(move |(index, (_, bundle))| {
            let replaced = self.carried.get(index + 1).map_or(i64::MAX, |(since, _)| *since);
            (replaced > self.now - delay).then_some(bundle)
        })
    }
}

#[derive(Debug, Clone)]
enum Act {
    Pass(i64),
    Drive,
    Inject,
    Renew(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (1..8_i64).prop_map(Act::Pass),
        4 => Just(Act::Drive),
        2 => Just(Act::Inject),
        3 => (0..3_usize).prop_map(Act::Renew),
    ]
}

impl World {
    /// A leaf that some API server would not accept now, if there is one.
    fn unaccepted(&self) -> Option<String> {
        // An ended certificate is nobody's; its replica renews long before.
        let shown = self.leaves.iter().filter(|(_, until)| *until > self.now);
        shown
            .flat_map(|(signer, _)| self.seen().map(move |bundle| (signer, bundle)))
            .find(|(signer, bundle)| !bundle.contains(signer))
            .map(|(signer, bundle)| format!("at {} a leaf of {signer} met bundle {bundle:?}", self.now))
    }
}

#[test]
fn rotations_follow_one_another_for_ever() {
    let mut world = World::new(3);
    for second in 0..1000 {
        world.now = second;
        world.drive();
        if second % 3 == 0 {
            world.inject();
        }
        world.renew(usize::try_from(second % 30 / 10).unwrap());
        assert_eq!(world.unaccepted(), None);
    }
    assert!(world.made >= 10, "only {} were made", world.made);
}

proptest! {
    #[test]
    fn whatever_is_shown_is_accepted_whatever_bundle_is_seen(acts in prop::collection::vec(act(), 1..400)) {
        let mut world = World::new(3);
        for act in acts {
            match act {
                Act::Pass(seconds) => world.now += seconds,
                Act::Drive => world.drive(),
                Act::Inject => world.inject(),
                Act::Renew(replica) => world.renew(replica),
            }
            if at(world.now) >= world.state.current.until {
                // Nobody looked for so long that the authority ended: there is nothing left to keep.
                break;
            }
            prop_assert_eq!(world.unaccepted(), None);
        }
    }
}
