//! `chancery my`, as a reseller and its scripts meet it: the real binary against a real `chancery dev`.

mod certificates;
mod errors;
mod login;
mod manual;
mod nouns;
mod orders;
mod resuming;
mod shop;
