//! Other people's programs, kept on a leash.
