//! How a figure comes about.
//!
//! The contenders of a case take turns: in each repetition every one of them runs many short batches, of which the
//! best counts. So a disturbance hits all contenders alike, and one that is shorter than a repetition hits none.
//! What is printed are the best and the median repetition, how far they spread, and the ratio to the case's floor.

use std::time::{Duration, Instant};

use crate::report::{Goal, Row, Table};

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) repetitions: usize,
    pub(crate) batches: usize,
}

/// One of those that are compared.
pub(crate) struct Contender<'a> {
    name: String,
    goal: Option<Goal>,
    /// Does the work that many times, and answers how long that took.
    run: Box<dyn FnMut(usize) -> Duration + 'a>,
    /// Nanoseconds of one operation, by repetition.
    seen: Vec<f64>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: impl Into<String>, mut run: impl FnMut(usize) + 'a) -> Self {
        Self::timed(name, move |operations| {
            let start = Instant::now();
            run(operations);
            start.elapsed()
        })
    }

    /// A contender that needs preparations for each batch, which it leaves out of the time.
    pub(crate) fn timed(name: impl Into<String>, run: impl FnMut(usize) -> Duration + 'a) -> Self {
        Self { name: name.into(), goal: None, run: Box::new(run), seen: Vec::new() }
    }

    /// It may take at most so many times as long as the floor.
    pub(crate) fn at_most(mut self, ratio: f64) -> Self {
        self.goal = Some(Goal::AtMost(ratio));
        self
    }

    fn batch(&mut self, operations: usize) -> f64 {
        (self.run)(operations).as_nanos() as f64 / operations as f64
    }
}

/// What is compared. The first contender is the floor.
pub(crate) struct Case<'a> {
    pub(crate) title: String,
    /// Operations in a batch: enough to take a fraction of a millisecond.
    pub(crate) operations: usize,
    pub(crate) contenders: Vec<Contender<'a>>,
}

impl Case<'_> {
    pub(crate) fn measure(mut self, effort: Effort, table: &mut Table) {
        for contender in &mut self.contenders {
            contender.batch(self.operations);
        }
        for _ in 0..effort.repetitions {
            let mut best = vec![f64::MAX; self.contenders.len()];
            for _ in 0..effort.batches {
                for (contender, best) in self.contenders.iter_mut().zip(&mut best) {
                    *best = best.min(contender.batch(self.operations));
                }
            }
            for (contender, best) in self.contenders.iter_mut().zip(best) {
                contender.seen.push(best);
            }
        }
        let floor = self.contenders.first().map_or_else(Vec::new, |floor| floor.seen.clone());
        for contender in self.contenders {
            table.push(Row::times(&self.title, contender.name, &contender.seen, &floor, contender.goal));
        }
    }

    /// Runs one contender so many times, for a profiler.
    pub(crate) fn run_only(mut self, name: &str, operations: usize) -> bool {
        match self.contenders.iter_mut().find(|contender| contender.name == name) {
            Some(contender) => {
                contender.batch(operations);
                true
            }
            None => false,
        }
    }
}
