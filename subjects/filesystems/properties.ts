import { Type } from 'typebox'
import { form } from '../kit/forms.ts'

/** A free-form property that a driver honours: a whole number within bounds (inclusive), one of some words, or a text. */
export type Property = { readonly meaning: string } & (
  | { readonly unit: string; readonly default: number; readonly min: number; readonly max: number }
  | { readonly values: readonly string[]; readonly default: string }
  | { readonly pattern: string; readonly means: string; readonly default: string }
)
export type Properties = Readonly<Record<string, Property>>

/** Longest value of a property. */
const maxValueLength = 1_000

/** Properties of a family that a filesystem can have: name nodes of a nameservice are two to five. */
const maxOfFamily = 10

/** Of properties that people have in files of Hadoop's configuration (`hdfs-site.xml`). */
export const siteMediaType = 'application/xml'

export interface FurtherProperties {
  /** People have them in files of Hadoop's configuration. */
  readonly areInSiteFiles?: true
  /** Names that people have in their configuration, and that change nothing here. */
  readonly ineffective?: readonly string[]
  /** Regular expressions of names that have a name of the user's in them. */
  readonly families?: readonly string[]
  /** Document that explains properties whose values are more than whole numbers. */
  readonly guide?: string
}

/**
 * The option for further properties of a kind: by the names that are known, since one that does nothing unsaid is worse than
 * none.
 */
export const propertiesOption = (
  honoured: Properties,
  { ineffective = [], families = [], guide, areInSiteFiles }: FurtherProperties = {},
) => {
  const names = [...Object.keys(honoured), ...ineffective].map((name) => name.replaceAll('.', '\\.'))
  const areNumbers = guide === undefined
  return Type.Optional(
    Type.Record(
      Type.String(
        form(
          `^(?:${[...names, ...families].join('|')})$`,
          `a supported property: ${Object.keys(honoured).join(', ')}`,
        ),
      ),
      areNumbers
        ? Type.String(form('^\\d{1,15}$', 'a whole number as text'))
        : Type.String({ maxLength: maxValueLength }),
      {
        maxProperties: names.length + families.length * maxOfFamily,
        additionalProperties: false,
        ...(areInSiteFiles && { contentMediaType: siteMediaType }),
        description: `Additional properties by name: ${guide === undefined ? 'whole numbers' : `see ${guide}`}`,
      },
    ),
  )
}
