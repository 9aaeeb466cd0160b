//! What the connections of one server share: the catalogue, the hooks, and each other.

use std::sync::{Arc, Mutex, Weak};

use mcp_sansio::server::Event;

use super::catalogue::Catalogue;
use super::link::Link;
use crate::report::Hooks;
use crate::sync::lock;

pub(crate) struct Shared {
    pub(super) catalogue: Mutex<Arc<Catalogue>>,
    pub(super) hooks: Hooks,
    pub(super) always_spawn: bool,
    links: Mutex<Vec<Weak<Link>>>,
    #[cfg(feature = "http")]
    endpoints: Mutex<Vec<Weak<super::http::Endpoint>>>,
}

impl Shared {
    pub(super) fn new(catalogue: Arc<Catalogue>, hooks: Hooks, always_spawn: bool) -> Self {
        Self {
            catalogue: Mutex::new(catalogue),
            hooks,
            always_spawn,
            links: Mutex::default(),
            #[cfg(feature = "http")]
            endpoints: Mutex::default(),
        }
    }

    pub(super) fn add(&self, link: &Arc<Link>) {
        let mut links = lock(&self.links);
        links.retain(|link| link.strong_count() > 0);
        links.push(Arc::downgrade(link));
    }

    #[cfg(feature = "http")]
    pub(super) fn add_endpoint(&self, endpoint: &Arc<super::http::Endpoint>) {
        let mut endpoints = lock(&self.endpoints);
        endpoints.retain(|endpoint| endpoint.strong_count() > 0);
        endpoints.push(Arc::downgrade(endpoint));
    }

    #[cfg(feature = "http")]
    pub(super) fn endpoints(&self) -> Vec<Arc<super::http::Endpoint>> {
        lock(&self.endpoints).iter().filter_map(Weak::upgrade).collect()
    }

    /// The streams that are open.
    pub(super) fn links(&self) -> Vec<Arc<Link>> {
        lock(&self.links).iter().filter_map(Weak::upgrade).filter(|link| !link.is_closed()).collect()
    }

    pub(super) fn publish(&self, event: &Event) {
        for link in self.links() {
            // Whether this client wants to hear of it, and can, is its own affair.
            let _ = link.with(|machine, now| machine.publish(now, event));
        }
        #[cfg(feature = "http")]
        for endpoint in self.endpoints() {
            endpoint.publish(event);
        }
    }
}
