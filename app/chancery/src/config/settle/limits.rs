//! What clients may cost.

use std::num::NonZeroU32;

use chancery_http::{BodyLimits, Limits};

use super::{Check, minutes, seconds};
use crate::config::types;
use crate::installation::{Rate, ServerLimits};

const MANY: u32 = 1_000_000;

pub(super) fn settle(limits: &types::Limits, check: &mut Check<'_>) -> Option<ServerLimits> {
    let per_second = check.number("limits.requests_per_second", limits.requests_per_second, 0, MANY);
    let burst = check.number("limits.burst", limits.burst, 1, MANY);
    let connections = check.number("limits.connections", limits.connections, 1_usize, 1_000_000);
    let per_peer = check.number("limits.connections_per_peer", limits.connections_per_peer, 0_usize, 1_000_000);
    let body_bytes = check.number("limits.body_bytes", limits.body_bytes, 1024_usize, 16 * 1024 * 1024);
    let header_bytes = check.number("limits.header_bytes", limits.header_bytes, 8192_usize, 1024 * 1024);
    let mut time = |setting: &str, text: &str| check.span(setting, text, seconds(1), minutes(10));
    let body_time = time("limits.body_time", &limits.body_time);
    let header_time = time("limits.header_time", &limits.header_time);
    let handshake_time = time("limits.handshake_time", &limits.handshake_time);
    let idle_time = time("limits.idle_time", &limits.idle_time);
    let per_second = NonZeroU32::new(per_second?);
    Some(ServerLimits {
        http: Limits {
            connections: connections?,
            connections_per_peer: per_peer.filter(|most| *most > 0),
            handshake: handshake_time?,
            header_read: header_time?,
            idle: idle_time?,
            header_bytes: header_bytes?,
            ..Limits::default()
        },
        body: BodyLimits { max_bytes: body_bytes?, time: body_time?, ..BodyLimits::default() },
        rate: per_second.zip(NonZeroU32::new(burst?)).map(|(per_second, burst)| Rate { per_second, burst }),
    })
}
