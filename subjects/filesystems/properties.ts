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

/**
 * The option for further properties of a kind: by the names that are known, since one that does nothing unsaid is worse than
 * none.
 * @param ineffective names that people have in their configuration, and that change nothing here
 */
export const propertiesOption = (honoured: Properties, ineffective: readonly string[] = []) => {
  const names = [...Object.keys(honoured), ...ineffective]
  const areNumbers = ineffective.length === 0 && Object.values(honoured).every((one) => 'unit' in one)
  return Type.Optional(
    Type.Record(
      Type.String(
        form(
          `^(?:${names.map((name) => name.replaceAll('.', '\\.')).join('|')})$`,
          `one that is honoured: ${Object.keys(honoured).join(', ')}`,
        ),
      ),
      areNumbers
        ? Type.String(form('^\\d{1,15}$', 'a whole number as text'))
        : Type.String({ maxLength: maxValueLength }),
      {
        maxProperties: names.length,
        additionalProperties: false,
        description: `Further properties by name: ${areNumbers ? 'whole numbers' : 'see docs/S3.md'}`,
      },
    ),
  )
}
