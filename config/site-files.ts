import { walkXml } from '../broker/common/xml.ts'

/** Properties of a file that a command takes, and how many others it has. */
export interface SiteProperties {
  readonly taken: Readonly<Record<string, string>>
  readonly left: number
}

/**
 * Properties in a file of Hadoop's configuration, such as `core-site.xml` and `hdfs-site.xml`: `<configuration>` with a
 * `<property>` for each `<name>` and `<value>`. Of a name that is there twice the last one counts. References to other
 * properties (`${…}`) are not resolved. Throws an Error for what is no such file.
 * @param isTaken whether a property has an effect
 */
export function sitePropertiesIn(xml: Buffer, isTaken: (name: string) => boolean): SiteProperties {
  const all = new Map<string, string>()
  let name: string | undefined
  let value: string | undefined
  walkXml(xml, {
    open: (path) => {
      if (path === '/property') name = value = undefined
    },
    close: (path, text) => {
      if (path === '/property/name') name = text.trim()
      if (path === '/property/value') value = text.trim()
      if (path === '/property' && name !== undefined && value !== undefined && value !== '')
        all.set(name, value)
    },
  })
  if (all.size === 0) throw new Error('it contains no Hadoop properties')
  const taken = [...all].filter(([one]) => isTaken(one))
  return { taken: Object.fromEntries(taken), left: all.size - taken.length }
}
