/** In the order of the bytes of UTF-8, as services list them. */
export const compareKeys = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other))

/** The folder that a key is in, as a prefix: empty, or with a slash at its end. */
export const prefixOf = (key: string): string => key.slice(0, key.lastIndexOf('/') + 1)
