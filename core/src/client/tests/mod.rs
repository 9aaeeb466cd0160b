//! The client machine, driven by frames on a virtual clock.
