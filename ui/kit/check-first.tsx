import { Button } from '@mantine/core'
import type { ComponentProps } from 'react'
import type { Contract } from '../../subjects/kit/contract.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { fieldsOf } from '../../subjects/kit/json-schema.ts'
import { useCommand } from '../data/calls.ts'
import { Checks } from './checks.tsx'
import { Failure } from './failure.tsx'
import type { Values } from './schema-fields.tsx'

const isEqual = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** Tries what a migration needs of a store or catalog, before it is saved. */
export function CheckFirst({ contract, input }: { readonly contract: Contract; readonly input: Values }) {
  const check = useCommand(contract, { isShown: true })
  const asked = Object.keys(fieldsOf(contract.input))
  const known = Object.fromEntries(Object.entries(input).filter(([name]) => asked.includes(name)))
  // What was found is of what was entered then.
  const isOfThis = check.variables !== undefined && isEqual(check.variables, known)
  return (
    <>
      <Button variant="default" mt="sm" loading={check.isPending} onClick={() => check.mutate(known)}>
        Check without adding
      </Button>
      {isOfThis && check.error && <Failure title="The check failed" error={check.error} />}
      {/* Contracts of checks answer so. */}
      {isOfThis && check.data !== undefined && (
        <Checks
          what={contract.resource === filesystems.list.resource ? 'store' : 'catalog'}
          of={check.data as ComponentProps<typeof Checks>['of']}
        />
      )}
    </>
  )
}
