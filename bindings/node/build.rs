//! Tells the linker what a module of Node is.

fn main() {
    napi_build::setup();
}
