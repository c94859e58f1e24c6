//! What only the maintainer's half reads of a pull request, while it is being read.

use pulls::facts::{Account, Time};
use pulls::upkeep::{ChangedFile, Closing, CommitMade, Edit, Event, EventKind, Upkeep};

use super::Want;
use super::reading::{Next, Reading};
use crate::batch::Of;
use crate::shape;

/// GitHub lists no more files than these, and a longer list is not worth a hundred pages.
const MAX_FILE_PAGES: u32 = 30;

/// Labels, files, events and edits of one pull request.
#[derive(Debug)]
pub(super) struct UpkeepReading {
    labels: Vec<String>,
    /// `None` where not all of them can be read, which is no failure.
    files: Option<Reading<ChangedFile>>,
    events: Vec<Event>,
    edits: Vec<Edit>,
    commits: Vec<CommitMade>,
    closing: Option<Closing>,
}

impl UpkeepReading {
    /// From the first answer, whose lists of its own are taken out.
    pub(super) fn begin(pull: &mut shape::Pull, wants: &mut Vec<Want>) -> Self {
        let labels = pull.labels.take().map(shape::Few::all).unwrap_or_default();
        let events: Vec<Event> = pull
            .events
            .take()
            .map(shape::Few::all)
            .unwrap_or_default()
            .into_iter()
            .filter_map(shape::Happened::event)
            .collect();
        let by = shape::account(pull.merged_by.take()).or_else(|| {
            let closed = events.iter().rev().find(|event| event.kind == EventKind::Closed);
            closed.and_then(|event| event.by.clone())
        });
        let ended: Option<Time> = pull.merged_at.or(pull.closed_at);
        let mut this = Self {
            labels: labels.into_iter().map(|label| label.name).collect(),
            files: pull.files.as_ref().map(|_| Reading::new("files")),
            events,
            edits: pull.take_edit().into_iter().collect(),
            commits: Vec::new(),
            closing: ended.map(|at| Closing { at, by }),
        };
        if let Some(files) = pull.files.take() {
            this.take_files(files, wants);
        }
        this
    }

    /// A list that is too long or ends short is not known, and the rest of the pull request is.
    pub(super) fn take_files(&mut self, page: shape::List<shape::FileShape>, wants: &mut Vec<Want>) {
        let Some(reading) = &mut self.files else { return };
        match reading.take(page, |file| file.map(Into::into)) {
            Ok(next) if next == Next::Whole || reading.pages < MAX_FILE_PAGES => {
                next.want(|| Of::Files, wants)
            }
            _ => self.files = None,
        }
    }

    /// A page of commits, which lies before those that are known.
    pub(super) fn note_older(&mut self, commits: Vec<shape::Commit>) {
        let made = commits.into_iter().map(|commit| CommitMade {
            at: commit.committed_date,
            by: commit.author.and_then(shape::CommitAuthor::account),
        });
        self.commits.splice(0..0, made);
    }

    /// The head, where the list of commits ends before it (field case B075).
    pub(super) fn note_head(&mut self, at: Time, by: Option<Account>) {
        self.commits.push(CommitMade { at, by });
    }

    pub(super) fn note_edit(&mut self, edit: Option<Edit>) {
        self.edits.extend(edit);
    }

    pub(super) fn finish(mut self) -> Upkeep {
        // A list that was begun again has told its edits twice.
        self.edits.sort_by_key(|edit| edit.at);
        self.edits.dedup();
        self.events.sort_by_key(|event| event.at);
        Upkeep {
            labels: self.labels,
            files: self.files.map(|reading| reading.entries),
            events: self.events,
            edits: self.edits,
            commits: self.commits,
            closing: self.closing,
        }
    }
}
