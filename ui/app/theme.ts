import { createTheme, type CSSVariablesResolver, type MantineColorScheme, Modal } from '@mantine/core'
import { colorSchemeCookie } from '../../subjects/kit/names.ts'

export const theme = createTheme({
  primaryColor: 'blue',
  // White on the primary colour has enough contrast in both schemes.
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'sm',
  fontFamily: 'system-ui, sans-serif',
  fontFamilyMonospace: 'ui-monospace, Consolas, monospace',
  respectReducedMotion: true,
  components: {
    Modal: Modal.extend({
      defaultProps: {
        closeButtonProps: { 'aria-label': 'Close' },
        // A click beside it would lose what was entered.
        closeOnClickOutside: false,
        // The page has one banner: the title of a dialog is none.
        attributes: { header: { role: 'presentation' } },
      },
    }),
  },
})

const schemeKeptSeconds = 365 * 24 * 3_600

/** Has the pages around sign-in, which run no script, use the colours that somebody has chosen. */
export function tellScheme(scheme: MantineColorScheme): void {
  const isSecure = location.protocol === 'https:'
  const seconds = scheme === 'auto' ? 0 : schemeKeptSeconds
  document.cookie = `${colorSchemeCookie}=${scheme}; Path=/; SameSite=Lax; Max-Age=${seconds}${isSecure ? '; Secure' : ''}`
}

/** What is written smaller has to be read as well: more contrast than usual. */
export const variables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: { '--mantine-color-dimmed': colors.gray[7] },
  dark: { '--mantine-color-dimmed': colors.gray[4] },
})
