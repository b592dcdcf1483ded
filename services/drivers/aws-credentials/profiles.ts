/** Sections of a profile file by name, with their settings. */
export type Profiles = ReadonlyMap<string, ReadonlyMap<string, string>>

/**
 * The profiles of a file of Amazon's tools: `[name]` as in `~/.aws/credentials`, `[profile name]` as in `~/.aws/config`. What is
 * indented after a setting without a value belongs to that, and is not looked at; comments are lines that begin with `#` or `;`, and what
 * follows one after a blank.
 */
export function readProfiles(text: string): Profiles {
  const profiles = new Map<string, Map<string, string>>()
  let settings: Map<string, string> | undefined
  let isNested = false
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(?:[#;]|$)/.test(line)) continue
    const [, section] = /^\[\s*([^\]]*?)\s*\]/.exec(line) ?? []
    if (section !== undefined) {
      const [, name] = /^(?:profile\s+)?(["']?)(\S.*?)\1$/.exec(section)?.slice(1) ?? []
      const isProfile = name !== undefined && !/^(?:sso-session|services)\s/.test(section)
      settings = isProfile ? (profiles.get(name) ?? new Map<string, string>()) : undefined
      isNested = false
      if (isProfile && settings !== undefined) profiles.set(name, settings)
      continue
    }
    if (isNested && /^\s/.test(line)) continue
    const [, name, value] = /^\s*([^\s=][^=]*?)\s*=\s*(.*?)(?:\s+[#;].*)?\s*$/.exec(line) ?? []
    if (name === undefined || value === undefined) continue
    isNested = value === ''
    settings?.set(name.toLowerCase(), value)
  }
  return profiles
}
