/**
 * Characters outside of XML 1.0. Services refuse them, mark or encode the name, put another character in their place
 * (versitygw), or answer 500 to every listing of the folder (Azurite). Tab, line feed and carriage return come back.
 */
// oxlint-disable-next-line no-control-regex
const notXml = /[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/

/** Why a name cannot stand in a listing: a request to list below it may fail as a whole. */
export function refuseUnlistable(name: string): string | undefined {
  const unlistable = notXml.exec(name)?.[0]
  if (unlistable === undefined) return undefined
  const code = unlistable.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
  return `the name has the character U+${code}, which a listing cannot carry`
}
