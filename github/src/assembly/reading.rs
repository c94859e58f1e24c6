//! A list that is read page by page, to its end or not at all.

use super::Want;
use crate::batch::Of;
use crate::error::ReadError;
use crate::shape;

/// Pages of one list: 10,000 entries, more than any pull request has that a person could still read.
pub(super) const MAX_PAGES: u32 = 100;

/// A list that is read page by page.
#[derive(Debug)]
pub(super) struct Reading<T> {
    list: &'static str,
    pub(super) entries: Vec<T>,
    /// Entries that came, null ones too, since the last beginning.
    seen: u64,
    pub(super) pages: u32,
    began_again: bool,
}

/// What to do after a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The list was read whole.
    Whole,
    /// The page after this cursor; `None` means from the beginning.
    After(Option<String>),
}

impl<T> Reading<T> {
    pub(super) fn new(list: &'static str) -> Self {
        Self {
            list,
            entries: Vec::new(),
            seen: 0,
            pages: 0,
            began_again: false,
        }
    }

    /// Takes one page. `keep` is asked for every entry, null ones too.
    pub(super) fn take<S>(
        &mut self,
        page: shape::List<S>,
        mut keep: impl FnMut(Option<S>) -> Option<T>,
    ) -> Result<Next, ReadError> {
        self.pages += 1;
        self.seen += page.nodes.len() as u64;
        self.entries.extend(page.nodes.into_iter().filter_map(&mut keep));
        if page.page_info.has_next_page {
            if self.pages >= MAX_PAGES {
                return Err(ReadError::TooManyPages {
                    list: self.list,
                    pages: MAX_PAGES,
                });
            }
            return match page.page_info.end_cursor {
                Some(cursor) => Ok(Next::After(Some(cursor))),
                None => Err(ReadError::Malformed {
                    what: format!("{} go on without a cursor", self.list),
                }),
            };
        }
        if self.seen >= page.total_count {
            return Ok(Next::Whole);
        }
        if self.began_again {
            return Err(ReadError::Incomplete {
                list: self.list,
                got: self.seen,
                of: page.total_count,
            });
        }
        self.began_again = true;
        self.entries.clear();
        self.seen = 0;
        Ok(Next::After(None))
    }

    /// Takes the newest entries of a list of which no more are asked for.
    pub(super) fn take_newest<S>(&mut self, page: shape::List<S>, keep: impl FnMut(Option<S>) -> Option<T>) {
        self.entries.extend(page.nodes.into_iter().filter_map(keep));
    }
}

impl Next {
    pub(super) fn want(self, of: impl FnOnce() -> Of, wants: &mut Vec<Want>) {
        if let Self::After(cursor) = self {
            wants.push((of(), cursor));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(entries: u64, total: u64, cursor: Option<&str>) -> shape::List<u64> {
        let info = serde_json::json!({"hasNextPage": cursor.is_some(), "endCursor": cursor});
        let nodes: Vec<u64> = (0..entries).collect();
        serde_json::from_value(serde_json::json!({"totalCount": total, "pageInfo": info, "nodes": nodes}))
            .unwrap()
    }

    #[test]
    fn a_list_is_whole_when_it_has_all_that_is_counted() {
        let after = |cursor: Option<&str>| Ok(Next::After(cursor.map(str::to_owned)));
        let mut reading = Reading::new("comments");
        assert_eq!(reading.take(page(100, 130, Some("a")), |n| n), after(Some("a")));
        assert_eq!(reading.take(page(30, 130, None), |n| n), Ok(Next::Whole));
        assert_eq!(reading.entries.len(), 130);

        let mut short = Reading::new("comments");
        assert_eq!(short.take(page(100, 130, None), |n| n), after(None));
        assert!(short.entries.is_empty());
        assert_eq!(short.take(page(100, 130, Some("a")), |n| n), after(Some("a")));
        assert_eq!(short.take(page(30, 130, None), |n| n), Ok(Next::Whole));
        assert_eq!(short.entries.len(), 130);

        let mut shorter = Reading::<u64>::new("comments");
        assert_eq!(shorter.take(page(1, 2, None), |n| n), after(None));
        let error = shorter.take(page(1, 2, None), |n| n).unwrap_err();
        assert_eq!(error.to_string(), "1 of 2 comments could be read");

        let mut endless = Reading::new("comments");
        for _ in 1..MAX_PAGES {
            assert!(endless.take(page(1, 1, Some("a")), |n| n).is_ok());
        }
        assert!(endless.take(page(1, 1, Some("a")), |n| n).is_err());
    }
}
