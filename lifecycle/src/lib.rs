//! What to do about a pull request.
