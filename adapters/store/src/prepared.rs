//! The prepared statements of a connection: not more than a number, however many texts there are.

use std::collections::{HashMap, VecDeque};

/// Far more than the service has texts in common use. The server keeps each with its plan, for each connection.
const MOST: usize = 512;

/// What was prepared, by its text; the oldest goes when there is no room.
pub(crate) struct Prepared<T> {
    known: HashMap<String, T>,
    in_order: VecDeque<String>,
}

impl<T: Clone> Prepared<T> {
    pub(crate) fn get(&self, sql: &str) -> Option<T> {
        self.known.get(sql).cloned()
    }

    /// Keeps a statement; the one that goes for it, if one does, is to be forgotten by the server, too.
    #[must_use]
    pub(crate) fn keep(&mut self, sql: &str, statement: T) -> Option<T> {
        if self.known.insert(sql.to_owned(), statement).is_none() {
            self.in_order.push_back(sql.to_owned());
        }
        if self.in_order.len() <= MOST {
            return None;
        }
        let oldest = self.in_order.pop_front()?;
        self.known.remove(&oldest)
    }
}

impl<T> Default for Prepared<T> {
    fn default() -> Self {
        Self { known: HashMap::new(), in_order: VecDeque::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room() {
        let mut prepared = Prepared::default();
        for number in 0..MOST + 3 {
            let gone = number.checked_sub(MOST);
            assert_eq!(prepared.keep(&number.to_string(), number), gone);
            assert_eq!(prepared.keep(&number.to_string(), number), None);
        }
        assert_eq!((prepared.known.len(), prepared.in_order.len()), (MOST, MOST));
        assert_eq!((prepared.get("2"), prepared.get("3")), (None, Some(3)));
        assert_eq!(prepared.get(&(MOST + 2).to_string()), Some(MOST + 2));
    }
}
