//! The statuses that interfaces show of orders, authorizations and certificates.

use std::fmt;
use std::str::FromStr;

use crate::kinds::kinds;

kinds! {
    /// Of an order, as the reseller API shows it.
    OrderStatus, "order status" {
        Pending = "pending",
        Ready = "ready",
        Processing = "processing",
        Valid = "valid",
        Invalid = "invalid",
        Cancelled = "cancelled",
        Expired = "expired",
    }
    /// Of an authorization, as both doors show it.
    AuthorizationStatus, "authorization status" {
        Pending = "pending",
        Valid = "valid",
        Invalid = "invalid",
        Deactivated = "deactivated",
        Expired = "expired",
        Revoked = "revoked",
    }
    /// Of a certificate.
    CertificateStatus, "certificate status" {
        Pending = "pending",
        Issued = "issued",
        Cancelled = "cancelled",
        Revoked = "revoked",
        Expired = "expired",
    }
}
