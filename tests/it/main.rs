//! The whole program from outside, and the shape of its source.

mod architecture;
