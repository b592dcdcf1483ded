import { Button, Modal, Select } from '@mantine/core'
import { useState } from 'react'
import type { exclusions } from '../../subjects/rules/exclusions.ts'
import type { inclusions } from '../../subjects/rules/inclusions.ts'
import { mayCall } from '../data/calls.ts'
import { useSession } from '../data/session-context.ts'
import { ContractForm } from './contract-form.tsx'

const ways = ['create-regex', 'create-file-size', 'create-date', 'create-age', 'create-paths'] as const

/** A button with a form for each type of rule: there for those who may make one. */
export function CreateRule({
  contracts,
  what,
  isMain = false,
  isInline = false,
  onDone,
}: {
  readonly contracts: typeof exclusions | typeof inclusions
  /** `exclusion` or `inclusion` */
  readonly what: string
  readonly isMain?: boolean
  /** Beside other buttons. */
  readonly isInline?: boolean
  /** Gets its name. */
  readonly onDone?: (id: string) => void
}) {
  const session = useSession()
  const [way, setWay] = useState<(typeof ways)[number]>()
  const offered = ways.filter((one) => mayCall(session, contracts[one]))
  if (offered.length === 0) return null
  const close = () => setWay(undefined)
  const title = `Create an ${what}`
  return (
    <>
      <Button
        {...(!isInline && { mb: 'md' })}
        variant={isMain ? 'filled' : 'default'}
        onClick={() => setWay(offered[0])}
      >
        {title}
      </Button>
      <Modal opened={way !== undefined} onClose={close} title={title} size="lg">
        <Select
          label="Type"
          data={offered.map((value) => ({ value, label: contracts[value].summary }))}
          value={way ?? null}
          allowDeselect={false}
          onChange={(value) => setWay(value ?? undefined)}
        />
        {way && (
          <ContractForm
            key={way}
            contract={contracts[way]}
            verb="Create"
            {...(way === 'create-regex' && { initial: { patternType: 'GLOB' } })}
            onCancel={close}
            onDone={({ id }) => {
              close()
              onDone?.(id)
            }}
          />
        )}
      </Modal>
    </>
  )
}
