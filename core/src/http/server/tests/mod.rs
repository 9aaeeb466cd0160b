//! The HTTP server, driven by heads and bytes on a virtual clock.
