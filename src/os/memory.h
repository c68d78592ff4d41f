#pragma once

namespace patchbay {

/// Has the allocator keep one heap for all threads instead of one for each: a daemon that allocates
/// little and seldom saves megabytes that way. Call it before there are threads.
void FavorSmallMemory();

/// Gives memory that is free back to the system, after a job that used much of it. Takes a moment,
/// in which others wait for the heap; not for the loop, and not often.
void ReleaseFreeMemory();

}  // namespace patchbay
