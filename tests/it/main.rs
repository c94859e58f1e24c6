//! The whole program from outside, and the shape of its source.

mod architecture;
mod bad_input;
mod dispatch;
mod hosting;
mod pull_side;
mod support;
