/** The style of a word on a terminal. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';
