//! A map whose keys are numbers that count up: sorted places in one piece of memory, none of it while it is empty at
//! first, and little while there is one. A session holds one thing at a time, mostly, and there are many sessions.

/// Things by their numbers.
#[derive(Debug)]
pub(in super::super) struct Numbered<T>(Vec<(u64, T)>);

impl<T> Numbered<T> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    fn find(&self, number: u64) -> Result<usize, usize> {
        match self.0.last() {
            Some((last, _)) if *last >= number => self.0.binary_search_by_key(&number, |(known, _)| *known),
            _ => Err(self.0.len()),
        }
    }

    pub(super) fn insert(&mut self, number: u64, thing: T) {
        if self.0.is_empty() {
            self.0.reserve_exact(1);
        }
        match self.find(number) {
            Ok(at) => self.0[at].1 = thing,
            Err(at) => self.0.insert(at, (number, thing)),
        }
    }

    pub(super) fn get(&self, number: u64) -> Option<&T> {
        self.find(number).ok().map(|at| &self.0[at].1)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.find(number).ok().map(|at| &mut self.0[at].1)
    }

    pub(super) fn remove(&mut self, number: u64) {
        if let Ok(at) = self.find(number) {
            self.0.remove(at);
        }
    }

    pub(super) fn retain(&mut self, mut wanted: impl FnMut(&T) -> bool) {
        self.0.retain(|(_, thing)| wanted(thing));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.0.iter().map(|(number, thing)| (*number, thing))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, thing)| thing)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, thing)| thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_any_order_it_is_a_map() {
        let mut things = Numbered::new();
        for number in [3, 9, 1, 9, 5] {
            things.insert(number, number * 10);
        }
        things.insert(5, 51);
        assert_eq!(
            things.iter().map(|(number, thing)| (number, *thing)).collect::<Vec<_>>(),
            [(1, 10), (3, 30), (5, 51), (9, 90)]
        );
        assert_eq!((things.get(3), things.get(4), things.get(10)), (Some(&30), None, None));
        things.remove(3);
        things.remove(4);
        things.remove(9);
        assert_eq!(things.values().copied().collect::<Vec<_>>(), [10, 51]);
    }
}
