//! One run: the world, the full command log, the checkpoints, and what lies ahead.
