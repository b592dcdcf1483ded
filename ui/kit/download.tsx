import { Button } from '@mantine/core'
import { useState } from 'react'
import type { Contract, Input } from '../../subjects/kit/contract.ts'
import { contentsOf, type Further, type Part } from '../../subjects/kit/download.ts'
import { mayCall } from '../data/calls.ts'
import { reportOutcome } from '../data/outcomes.ts'
import { useSession } from '../data/session-context.ts'

/** A button that saves a text as a file: there for those who may read it. */
export function Download<C extends Contract>({
  contract,
  input,
  children,
  isSmall = false,
}: {
  readonly contract: C
  readonly input: Input<C>
  readonly children: string
  readonly isSmall?: boolean
}) {
  const session = useSession()
  const [isLoading, setLoading] = useState(false)
  if (!mayCall(session, contract)) return null
  const save = async () => {
    setLoading(true)
    try {
      const ask = async (further: Partial<Further> = {}) =>
        (await session.call(contract, {
          ...(input as object),
          ...further,
        } as Input<C>)) as Part
      const first = await ask()
      const contents = await Array.fromAsync(contentsOf(first, ask, contract.download?.by))
      const url = URL.createObjectURL(new Blob(contents, { type: first.type }))
      const link = document.createElement('a')
      link.href = url
      link.download = first.name
      link.click()
      URL.revokeObjectURL(url)
      reportOutcome(`Downloaded ${first.name}`)
    } catch (error) {
      reportOutcome('The download failed', error)
    }
    setLoading(false)
  }
  return (
    <Button
      variant="default"
      size={isSmall ? 'compact-sm' : 'sm'}
      loading={isLoading}
      onClick={() => void save()}
    >
      {children}
    </Button>
  )
}
