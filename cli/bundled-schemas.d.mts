/** What a process may import of the schemas' library. */
export const entries: readonly string[]
/** Makes the bundle of the library, where it is missing and can be made. */
export function bundleSchemas(): Promise<void>
