//===- UnicodeCaseTables.h - Characters beyond utf8proc's properties ---------===//
//
// From the data of Unicode 14, through Python 3.11's unicodedata: characters that
// have a property of str's methods without the category that usually has it, and
// the capitals that are several characters.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace rapt::unicode {

struct Range {
  char32_t first, last;
};

struct SpecialCase {
  char32_t character;
  const char32_t *upper, *title;
};

inline constexpr Range otherDigits[] = {{0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},
                                        {0x2070, 0x2070},   {0x2074, 0x2079},   {0x2080, 0x2089},   {0x2460, 0x2468},
                                        {0x2474, 0x247C},   {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
                                        {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},   {0x278A, 0x2792},
                                        {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};

inline constexpr Range otherNumerals[] = {
    {0x3405, 0x3405},   {0x3483, 0x3483},   {0x382A, 0x382A},   {0x3B4D, 0x3B4D},   {0x4E00, 0x4E00},
    {0x4E03, 0x4E03},   {0x4E07, 0x4E07},   {0x4E09, 0x4E09},   {0x4E5D, 0x4E5D},   {0x4E8C, 0x4E8C},
    {0x4E94, 0x4E94},   {0x4E96, 0x4E96},   {0x4EBF, 0x4EC0},   {0x4EDF, 0x4EDF},   {0x4EE8, 0x4EE8},
    {0x4F0D, 0x4F0D},   {0x4F70, 0x4F70},   {0x5104, 0x5104},   {0x5146, 0x5146},   {0x5169, 0x5169},
    {0x516B, 0x516B},   {0x516D, 0x516D},   {0x5341, 0x5341},   {0x5343, 0x5345},   {0x534C, 0x534C},
    {0x53C1, 0x53C4},   {0x56DB, 0x56DB},   {0x58F1, 0x58F1},   {0x58F9, 0x58F9},   {0x5E7A, 0x5E7A},
    {0x5EFE, 0x5EFF},   {0x5F0C, 0x5F0E},   {0x5F10, 0x5F10},   {0x62FE, 0x62FE},   {0x634C, 0x634C},
    {0x67D2, 0x67D2},   {0x6F06, 0x6F06},   {0x7396, 0x7396},   {0x767E, 0x767E},   {0x8086, 0x8086},
    {0x842C, 0x842C},   {0x8CAE, 0x8CAE},   {0x8CB3, 0x8CB3},   {0x8D30, 0x8D30},   {0x9621, 0x9621},
    {0x9646, 0x9646},   {0x964C, 0x964C},   {0x9678, 0x9678},   {0x96F6, 0x96F6},   {0xF96B, 0xF96B},
    {0xF973, 0xF973},   {0xF978, 0xF978},   {0xF9B2, 0xF9B2},   {0xF9D1, 0xF9D1},   {0xF9D3, 0xF9D3},
    {0xF9FD, 0xF9FD},   {0x20001, 0x20001}, {0x20064, 0x20064}, {0x200E2, 0x200E2}, {0x20121, 0x20121},
    {0x2092A, 0x2092A}, {0x20983, 0x20983}, {0x2098C, 0x2098C}, {0x2099C, 0x2099C}, {0x20AEA, 0x20AEA},
    {0x20AFD, 0x20AFD}, {0x20B19, 0x20B19}, {0x22390, 0x22390}, {0x22998, 0x22998}, {0x23B1B, 0x23B1B},
    {0x2626D, 0x2626D}, {0x2F890, 0x2F890}};

inline constexpr Range otherLower[] = {
    {0xAA, 0xAA},     {0xBA, 0xBA},     {0x2B0, 0x2B8},     {0x2C0, 0x2C1},     {0x2E0, 0x2E4},     {0x345, 0x345},
    {0x37A, 0x37A},   {0x1D2C, 0x1D6A}, {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},   {0x207F, 0x207F},
    {0x2090, 0x209C}, {0x2170, 0x217F}, {0x24D0, 0x24E9},   {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},
    {0xA7F8, 0xA7F9}, {0xAB5C, 0xAB5F}, {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}};

inline constexpr Range otherUpper[] = {
    {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

inline constexpr SpecialCase specialCases[] = {{0xDF, U"SS", U"Ss"},
                                               {0x149, U"\u02BCN", U"\u02BCN"},
                                               {0x1F0, U"J\u030C", U"J\u030C"},
                                               {0x390, U"\u0399\u0308\u0301", U"\u0399\u0308\u0301"},
                                               {0x3B0, U"\u03A5\u0308\u0301", U"\u03A5\u0308\u0301"},
                                               {0x587, U"\u0535\u0552", U"\u0535\u0582"},
                                               {0x1E96, U"H\u0331", U"H\u0331"},
                                               {0x1E97, U"T\u0308", U"T\u0308"},
                                               {0x1E98, U"W\u030A", U"W\u030A"},
                                               {0x1E99, U"Y\u030A", U"Y\u030A"},
                                               {0x1E9A, U"A\u02BE", U"A\u02BE"},
                                               {0x1F50, U"\u03A5\u0313", U"\u03A5\u0313"},
                                               {0x1F52, U"\u03A5\u0313\u0300", U"\u03A5\u0313\u0300"},
                                               {0x1F54, U"\u03A5\u0313\u0301", U"\u03A5\u0313\u0301"},
                                               {0x1F56, U"\u03A5\u0313\u0342", U"\u03A5\u0313\u0342"},
                                               {0x1F80, U"\u1F08\u0399", U"\u1F88"},
                                               {0x1F81, U"\u1F09\u0399", U"\u1F89"},
                                               {0x1F82, U"\u1F0A\u0399", U"\u1F8A"},
                                               {0x1F83, U"\u1F0B\u0399", U"\u1F8B"},
                                               {0x1F84, U"\u1F0C\u0399", U"\u1F8C"},
                                               {0x1F85, U"\u1F0D\u0399", U"\u1F8D"},
                                               {0x1F86, U"\u1F0E\u0399", U"\u1F8E"},
                                               {0x1F87, U"\u1F0F\u0399", U"\u1F8F"},
                                               {0x1F88, U"\u1F08\u0399", U"\u1F88"},
                                               {0x1F89, U"\u1F09\u0399", U"\u1F89"},
                                               {0x1F8A, U"\u1F0A\u0399", U"\u1F8A"},
                                               {0x1F8B, U"\u1F0B\u0399", U"\u1F8B"},
                                               {0x1F8C, U"\u1F0C\u0399", U"\u1F8C"},
                                               {0x1F8D, U"\u1F0D\u0399", U"\u1F8D"},
                                               {0x1F8E, U"\u1F0E\u0399", U"\u1F8E"},
                                               {0x1F8F, U"\u1F0F\u0399", U"\u1F8F"},
                                               {0x1F90, U"\u1F28\u0399", U"\u1F98"},
                                               {0x1F91, U"\u1F29\u0399", U"\u1F99"},
                                               {0x1F92, U"\u1F2A\u0399", U"\u1F9A"},
                                               {0x1F93, U"\u1F2B\u0399", U"\u1F9B"},
                                               {0x1F94, U"\u1F2C\u0399", U"\u1F9C"},
                                               {0x1F95, U"\u1F2D\u0399", U"\u1F9D"},
                                               {0x1F96, U"\u1F2E\u0399", U"\u1F9E"},
                                               {0x1F97, U"\u1F2F\u0399", U"\u1F9F"},
                                               {0x1F98, U"\u1F28\u0399", U"\u1F98"},
                                               {0x1F99, U"\u1F29\u0399", U"\u1F99"},
                                               {0x1F9A, U"\u1F2A\u0399", U"\u1F9A"},
                                               {0x1F9B, U"\u1F2B\u0399", U"\u1F9B"},
                                               {0x1F9C, U"\u1F2C\u0399", U"\u1F9C"},
                                               {0x1F9D, U"\u1F2D\u0399", U"\u1F9D"},
                                               {0x1F9E, U"\u1F2E\u0399", U"\u1F9E"},
                                               {0x1F9F, U"\u1F2F\u0399", U"\u1F9F"},
                                               {0x1FA0, U"\u1F68\u0399", U"\u1FA8"},
                                               {0x1FA1, U"\u1F69\u0399", U"\u1FA9"},
                                               {0x1FA2, U"\u1F6A\u0399", U"\u1FAA"},
                                               {0x1FA3, U"\u1F6B\u0399", U"\u1FAB"},
                                               {0x1FA4, U"\u1F6C\u0399", U"\u1FAC"},
                                               {0x1FA5, U"\u1F6D\u0399", U"\u1FAD"},
                                               {0x1FA6, U"\u1F6E\u0399", U"\u1FAE"},
                                               {0x1FA7, U"\u1F6F\u0399", U"\u1FAF"},
                                               {0x1FA8, U"\u1F68\u0399", U"\u1FA8"},
                                               {0x1FA9, U"\u1F69\u0399", U"\u1FA9"},
                                               {0x1FAA, U"\u1F6A\u0399", U"\u1FAA"},
                                               {0x1FAB, U"\u1F6B\u0399", U"\u1FAB"},
                                               {0x1FAC, U"\u1F6C\u0399", U"\u1FAC"},
                                               {0x1FAD, U"\u1F6D\u0399", U"\u1FAD"},
                                               {0x1FAE, U"\u1F6E\u0399", U"\u1FAE"},
                                               {0x1FAF, U"\u1F6F\u0399", U"\u1FAF"},
                                               {0x1FB2, U"\u1FBA\u0399", U"\u1FBA\u0345"},
                                               {0x1FB3, U"\u0391\u0399", U"\u1FBC"},
                                               {0x1FB4, U"\u0386\u0399", U"\u0386\u0345"},
                                               {0x1FB6, U"\u0391\u0342", U"\u0391\u0342"},
                                               {0x1FB7, U"\u0391\u0342\u0399", U"\u0391\u0342\u0345"},
                                               {0x1FBC, U"\u0391\u0399", U"\u1FBC"},
                                               {0x1FC2, U"\u1FCA\u0399", U"\u1FCA\u0345"},
                                               {0x1FC3, U"\u0397\u0399", U"\u1FCC"},
                                               {0x1FC4, U"\u0389\u0399", U"\u0389\u0345"},
                                               {0x1FC6, U"\u0397\u0342", U"\u0397\u0342"},
                                               {0x1FC7, U"\u0397\u0342\u0399", U"\u0397\u0342\u0345"},
                                               {0x1FCC, U"\u0397\u0399", U"\u1FCC"},
                                               {0x1FD2, U"\u0399\u0308\u0300", U"\u0399\u0308\u0300"},
                                               {0x1FD3, U"\u0399\u0308\u0301", U"\u0399\u0308\u0301"},
                                               {0x1FD6, U"\u0399\u0342", U"\u0399\u0342"},
                                               {0x1FD7, U"\u0399\u0308\u0342", U"\u0399\u0308\u0342"},
                                               {0x1FE2, U"\u03A5\u0308\u0300", U"\u03A5\u0308\u0300"},
                                               {0x1FE3, U"\u03A5\u0308\u0301", U"\u03A5\u0308\u0301"},
                                               {0x1FE4, U"\u03A1\u0313", U"\u03A1\u0313"},
                                               {0x1FE6, U"\u03A5\u0342", U"\u03A5\u0342"},
                                               {0x1FE7, U"\u03A5\u0308\u0342", U"\u03A5\u0308\u0342"},
                                               {0x1FF2, U"\u1FFA\u0399", U"\u1FFA\u0345"},
                                               {0x1FF3, U"\u03A9\u0399", U"\u1FFC"},
                                               {0x1FF4, U"\u038F\u0399", U"\u038F\u0345"},
                                               {0x1FF6, U"\u03A9\u0342", U"\u03A9\u0342"},
                                               {0x1FF7, U"\u03A9\u0342\u0399", U"\u03A9\u0342\u0345"},
                                               {0x1FFC, U"\u03A9\u0399", U"\u1FFC"},
                                               {0xFB00, U"FF", U"Ff"},
                                               {0xFB01, U"FI", U"Fi"},
                                               {0xFB02, U"FL", U"Fl"},
                                               {0xFB03, U"FFI", U"Ffi"},
                                               {0xFB04, U"FFL", U"Ffl"},
                                               {0xFB05, U"ST", U"St"},
                                               {0xFB06, U"ST", U"St"},
                                               {0xFB13, U"\u0544\u0546", U"\u0544\u0576"},
                                               {0xFB14, U"\u0544\u0535", U"\u0544\u0565"},
                                               {0xFB15, U"\u0544\u053B", U"\u0544\u056B"},
                                               {0xFB16, U"\u054E\u0546", U"\u054E\u0576"},
                                               {0xFB17, U"\u0544\u053D", U"\u0544\u056D"}};

} // namespace rapt::unicode
