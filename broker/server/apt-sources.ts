/** One archive of an apt configuration; `signedBy` is a keyring's path or key as written in the configuration. */
export interface AptSource {
  uri: string
  suite: string
  components: string[]
  signedBy?: string
}

/** Reads the one-line format (`deb [options] uri suite component ...`), binary packages only. */
export function parseOneLine(text: string): AptSource[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s*([^#]*)/.exec(line)
    if (match === null) return []
    const [, options = '', uri = '', suite = '', components = ''] = match
    const signedBy = /(?:^|\s)signed-by=(\S+)/i.exec(options)?.[1]?.replaceAll(',', ' ')
    return [{ uri, suite, components: words(components), ...(signedBy !== undefined && { signedBy }) }]
  })
}

/** Reads the deb822 format (`.sources`): stanzas of fields, binary packages of enabled stanzas only. */
export function parseDeb822(text: string): AptSource[] {
  const withoutComments = text.replaceAll(/^#.*\n?/gm, '')
  return withoutComments.split(/\n\s*\n/).flatMap((stanza) => {
    const fields = parseStanza(stanza)
    const enabled = !/^(?:no|false|0|off|without|disable)$/i.test(fields.get('enabled') ?? 'yes')
    if (!enabled || !words(fields.get('types')).includes('deb')) return []
    const components = words(fields.get('components'))
    const signedBy = fields.get('signed-by')
    return words(fields.get('uris')).flatMap((uri) =>
      words(fields.get('suites')).map((suite) => ({
        uri,
        suite,
        components,
        ...(signedBy !== undefined && { signedBy }),
      })),
    )
  })
}

/**
 * The sources that are Debian's own archive (or a mirror of it) for the release `codename`, once each. Other
 * vendors use the same suite names: they sign with their own keyring, or have no `debian` in their path.
 */
export function debianArchives(sources: AptSource[], codename: string): AptSource[] {
  const archives = sources.filter(
    ({ uri, suite, components, signedBy }) =>
      suite === codename &&
      components.includes('main') &&
      !uri.startsWith('cdrom:') &&
      (namesKeyring(signedBy) ? signedBy.includes('debian-archive') : /\/debian\b[^/]*(\/|$)/.test(uri)),
  )
  return [...new Map(archives.map((source) => [source.uri, source])).values()]
}

function namesKeyring(signedBy: string | undefined): signedBy is string {
  return signedBy !== undefined && signedBy.startsWith('/')
}

function parseStanza(stanza: string): Map<string, string> {
  // A line that begins with white space goes on with the field above it (a key block in Signed-By does).
  const fields = stanza.matchAll(/^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t].*)*)/gm)
  return new Map(fields.map(([, name = '', value = '']) => [name.toLowerCase(), value.trimEnd()]))
}

function words(text = ''): string[] {
  return text.split(/\s+/).filter((word) => word !== '')
}
