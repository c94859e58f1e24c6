//! An embedded GitHub for the demo and for tests.
