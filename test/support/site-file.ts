/** A file of Hadoop's configuration. */
export const siteFile = (properties: Readonly<Record<string, string>>): string =>
  `<configuration>${Object.entries(properties)
    .map(([name, value]) => `<property><name>${name}</name><value>${value}</value></property>`)
    .join('')}</configuration>`
