import { SimpleGrid } from '@mantine/core'
import type { Contract, Input } from '../../subjects/kit/contract.ts'
import { pick } from '../../subjects/kit/json-schema.ts'
import { type Choices, SchemaFields } from './schema-fields.tsx'

/** Fields of a contract that say what of a list is wanted. */
export const Filters = <C extends Contract>({
  contract,
  fields,
  values,
  onChange,
  choices,
}: {
  readonly contract: C
  readonly fields: readonly (keyof Input<C> & string)[]
  readonly values: Partial<Input<C>>
  readonly onChange: (values: Partial<Input<C>>) => void
  readonly choices?: Choices
}) => (
  <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} mb="md">
    <SchemaFields
      schema={pick(contract.input, fields)}
      values={values}
      isFilter
      // The fields are those of the contract.
      onChange={(next) => onChange(next as Partial<Input<C>>)}
      {...(choices && { choices })}
    />
  </SimpleGrid>
)
