#![cfg(test)]
//! The control API, asked as a client asks it. Every answer is held against the OpenAPI document.

mod access;
mod broken;
mod client;
mod contract;
mod document;
mod hostile;
mod journey;
mod kube;
mod listening;
mod matrix;
mod names;
mod qinling;
mod repeat;
mod runtime;
mod upload;
