// SPDX-License-Identifier: Apache-2.0
package org.rpcrdma.codec.binding;

import static org.rpcrdma.codec.binding.Nfs4XdrTypes.*;

/** Upper bounds of the sizes of attribute values (RFC 8881, 5; RFC 7862, 12.2; RFC 8275; RFC 8276; RFC 9754). */
final class Nfs4AttributeSizeLimits {

    private static final int NONE = -1;
    private static final int LAYOUT_TYPES = 4 + 16 * 4;
    private static final int SET_TIME = 4 + TIME;
    private static final int RETENTION_GET = 8 + 4 + TIME;
    private static final int RETENTION_SET = 4 + 4 + 8;

    /** Most bytes by attribute number; {@link #NONE} for those without a bound, such as ACLs and security labels. */
    private static final int[] MAXIMUM = {
        Nfs4OperationReplyLimits.BITMAP, // 0 supported_attrs
        4, // type
        4, // fh_expire_type
        8, // change
        8, // size
        4, // 5 link_support
        4, // symlink_support
        4, // named_attr
        16, // fsid
        4, // unique_handles
        4, // 10 lease_time
        4, // rdattr_error
        NONE, // acl
        4, // aclsupport
        4, // archive
        4, // 15 cansettime
        4, // case_insensitive
        4, // case_preserving
        4, // chown_restricted
        4 + FHSIZE, // filehandle
        8, // 20 fileid
        8, // files_avail
        8, // files_free
        8, // files_total
        NONE, // fs_locations
        4, // 25 hidden
        4, // homogeneous
        8, // maxfilesize
        4, // maxlink
        4, // maxname
        8, // 30 maxread
        8, // maxwrite
        NONE, // mimetype
        4, // mode
        4, // no_trunc
        4, // 35 numlinks
        Nfs4OperationReplyLimits.PRINCIPAL, // owner
        Nfs4OperationReplyLimits.PRINCIPAL, // owner_group
        8, // quota_avail_hard
        8, // quota_avail_soft
        8, // 40 quota_used
        4 + 4, // rawdev
        8, // space_avail
        8, // space_free
        8, // space_total
        8, // 45 space_used
        4, // system
        TIME, // time_access
        SET_TIME, // time_access_set
        TIME, // time_backup
        TIME, // 50 time_create
        TIME, // time_delta
        TIME, // time_metadata
        TIME, // time_modify
        SET_TIME, // time_modify_set
        8, // 55 mounted_on_fileid
        TIME, // dir_notif_delay
        TIME, // dirent_notif_delay
        NONE, // dacl
        NONE, // sacl
        8 + 8, // 60 change_policy
        NONE, // fs_status
        LAYOUT_TYPES, // fs_layout_types
        NONE, // layout_hint
        LAYOUT_TYPES, // layout_types
        4, // 65 layout_blksize
        4, // layout_alignment
        NONE, // fs_locations_info
        NONE, // mdsthreshold
        RETENTION_GET, // retention_get
        RETENTION_SET, // 70 retention_set
        RETENTION_GET, // retentevt_get
        RETENTION_SET, // retentevt_set
        8, // retention_hold
        4 + 4, // mode_set_masked
        Nfs4OperationReplyLimits.BITMAP, // 75 suppattr_exclcreat
        4, // fs_charset_cap
        4, // clone_blksize
        8, // space_freed
        4, // change_attr_type
        NONE, // 80 sec_label
        4 + 4, // mode_umask
        4, // xattr_support
        4, // offline
        TIME, // time_deleg_access
        TIME, // 85 time_deleg_modify
        5 * Nfs4OperationReplyLimits.BITMAP, // open_arguments
    };

    private Nfs4AttributeSizeLimits() {}

    /** Adds the attributes that a bitmap asks for, with the bitmap and the count word of the reply. */
    static void limit(XdrCursor in, ReplyLimits limits) throws MalformedMessageException {
        int words = in.count(4);
        long bytes = 4 + 4L * words + 4;
        boolean isBounded = true;
        for (int word = 0; word < words; word++) {
            for (int bits = in.int32(); bits != 0; bits &= bits - 1) {
                long number = 32L * word + Integer.numberOfTrailingZeros(bits);
                int maximum = number < MAXIMUM.length ? MAXIMUM[(int) number] : NONE;
                isBounded &= maximum != NONE;
                bytes += Math.max(0, maximum);
            }
        }
        limits.results(bytes);
        if (!isBounded) {
            limits.unbounded();
        }
    }
}
