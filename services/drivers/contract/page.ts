import type { Entry } from './entry.ts'

/** The largest number of entries in a page, whatever the store gives at once. */
export const maxPageEntries = 1_024

/** Some of the entries of a folder. */
export interface Page {
  /** At least one, and at most 1,024. */
  readonly entries: readonly Entry[]
  /**
   * With it the same listing goes on after this page, in any process and at any time. Opaque text, made by the driver. Not
   * there where it is known that nothing follows, and where the store cannot go on from here.
   */
  readonly cursor?: string
}

/** What of a folder is listed. */
export interface Listing {
  /** `cursor` of a page of an earlier listing of the folder: all up to the end of that page is left out. */
  readonly after?: string
  /** Entries of a page at most, for whoever does not want all; default and most: 1,024. */
  readonly limit?: number
}
