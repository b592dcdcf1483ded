import { UnstyledButton } from '@mantine/core'
import { useState } from 'react'
import { Named } from './named.tsx'

/** What three lines of a column have room for. */
const mostInLines = 80

/** A text of any length in a table: its first three lines, and all of it for those who ask. */
export function Clamped({ children }: { readonly children: string }) {
  const [isWhole, setWhole] = useState(false)
  if (children.length <= mostInLines) return <Named>{children}</Named>
  return (
    <>
      <span {...(!isWhole && { className: 'clamped' })}>
        <Named>{children}</Named>
      </span>{' '}
      <UnstyledButton fz="inherit" td="underline" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
        {isWhole ? 'less' : 'more'}
      </UnstyledButton>
    </>
  )
}
