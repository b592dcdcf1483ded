/** Words of migrations, as plain data: the engine's threads use them without the schemas. */

/** What happens to a file that is at the target already. */
export const actionPolicies = {
  Overwrite: 'copied again, even if it is the same',
  SkipIfSizeMatch: 'skipped if its size is the same',
  SkipIfSizeAndTimeMatch: 'skipped if its size and modification time are the same',
  SkipIfDigestMatch: 'skipped if its content is the same; both sides are read where no digest is known',
} as const
export type ActionPolicy = keyof typeof actionPolicies
export const actionPolicyNames = Object.keys(actionPolicies) as ActionPolicy[]

/** What of the metadata is kept unless the migration says otherwise. Times always are. */
export const defaultMetadata = { modes: true, owners: true, attributes: false } as const

/** What becomes of symbolic links. */
export const linkPolicies = {
  keep: 'copied as links',
  follow: 'replaced by what they lead to, inside the source',
  skip: 'not copied',
} as const
export const defaultLinks: keyof typeof linkPolicies = 'keep'

/** Classes that copied files are counted in, and the most bytes of a file of each. */
export const fileSizeClasses = {
  filesUpTo1KiB: 2 ** 10,
  filesUpTo1MiB: 2 ** 20,
  filesUpTo1GiB: 2 ** 30,
  filesLarger: Number.POSITIVE_INFINITY,
} as const
export type FileSizeClass = keyof typeof fileSizeClasses
export const fileSizeClassNames = Object.keys(fileSizeClasses) as FileSizeClass[]

/** What a file takes besides its content, in bytes that take as long: so large files count by bytes, and small ones by number. */
export const bytesForFile = 64 * 1024
