/**
 * Longest answer that a feed reads: it does so in the platform's own thread, which nobody may hold up for long. Ten messages of
 * 1 MiB with their escapes, or the differences of some hundred thousand files.
 */
export const maxFeedAnswerBytes = 24 * 1024 * 1024
