// The Mantine theme of design rules §9: our greys, ember as the one accent, small radii, 13 px base.
import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from '@mantine/core';

/** Ember: the one accent. Shade 7 carries white text at 5.3:1 and is used for fills in both themes. */
const ember: MantineColorsTuple = [
  '#FFF4ED',
  '#FFE5D5',
  '#FECBAB',
  '#FDA676',
  '#FB8A4E',
  '#F26A24',
  '#DB5211',
  '#BE420A',
  '#98350D',
  '#7A2D0F',
];
/** Neutral grey, light theme ramp. */
const gray: MantineColorsTuple = [
  '#F7F7F8',
  '#F1F1F3',
  '#E5E5E9',
  '#D3D4D9',
  '#B4B6BE',
  '#8C8F99',
  '#686B74',
  '#52555D',
  '#33353A',
  '#1A1B1E',
];
/** Neutral grey, dark theme ramp (0 = text, 9 = deepest). */
const dark: MantineColorsTuple = [
  '#E9EAEC',
  '#B2B5BD',
  '#92959E',
  '#71747E',
  '#3C3F46',
  '#2A2C31',
  '#1E2024',
  '#16171A',
  '#101113',
  '#0A0B0C',
];

export const theme = createTheme({
  primaryColor: 'ember',
  primaryShade: { light: 7, dark: 7 },
  autoContrast: false,
  colors: { ember, gray, dark },
  white: '#FFFFFF',
  black: '#1A1B1E',
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', sans-serif",
  fontFamilyMonospace: "'JetBrains Mono Variable', ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
  fontSizes: { xs: '11px', sm: '12px', md: '13px', lg: '14px', xl: '16px' },
  lineHeights: { xs: '16px', sm: '16px', md: '20px', lg: '20px', xl: '24px' },
  spacing: { xs: '4px', sm: '8px', md: '12px', lg: '16px', xl: '24px' },
  radius: { xs: '3px', sm: '4px', md: '6px', lg: '8px', xl: '12px' },
  defaultRadius: 'md',
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '18px', lineHeight: '24px' },
      h2: { fontSize: '14px', lineHeight: '20px' },
      h3: { fontSize: '13px', lineHeight: '20px' },
    },
  },
  shadows: { sm: '0 1px 2px rgba(0,0,0,.08)', md: '0 4px 16px rgba(0,0,0,.12)', lg: '0 8px 32px rgba(0,0,0,.18)' },
  cursorType: 'pointer',
  focusRing: 'auto',
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: 'sm', variant: 'default' } },
    ActionIcon: { defaultProps: { size: 28, variant: 'subtle', color: 'gray' } },
    TextInput: { defaultProps: { size: 'sm' } },
    PasswordInput: { defaultProps: { size: 'sm' } },
    Checkbox: { defaultProps: { size: 'xs', radius: 'xs' } },
    Switch: { defaultProps: { size: 'xs', withThumbIndicator: false } },
    SegmentedControl: { defaultProps: { size: 'xs' } },
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Tooltip: { defaultProps: { openDelay: 400, withArrow: false } },
  },
});

/** Mantine's own variables, pointed at ours, so that both speak the same greys. */
export const resolver: CSSVariablesResolver = () => {
  const v = {
    '--mantine-color-body': 'var(--bg)',
    '--mantine-color-text': 'var(--tx)',
    '--mantine-color-dimmed': 'var(--tx3)',
    '--mantine-color-placeholder': 'var(--tx3)',
    '--mantine-color-default': 'var(--surface)',
    '--mantine-color-default-hover': 'var(--hover)',
    '--mantine-color-default-color': 'var(--tx)',
    '--mantine-color-default-border': 'var(--line2)',
    '--mantine-color-error': 'var(--bad)',
    '--mantine-color-anchor': 'var(--accent-tx)',
    '--input-height-sm': '30px',
    '--button-height-sm': '30px',
  };
  return { variables: {}, light: v, dark: v };
};
