//! The allocator of the program.

/// A request allocates a few hundred times, on threads that hand their work to each other; the system's allocator spends
/// twice as long on it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
