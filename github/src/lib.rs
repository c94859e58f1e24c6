//! A narrow client of GitHub.
